"""Checks a trace against the rules of OTLP/JSON, written from opentelemetry.io/docs/specs/otlp ("JSON Protobuf Encoding") and
opentelemetry-proto's trace.proto and common.proto: names of fields, hexadecimal ids, 64-bit integers as strings, one kind a value,
parents that exist, ends not before starts. check(trace) gives the spans by id, each with "at": its attributes.
"""
import json
import re

FIELDS = {"traceId", "spanId", "traceState", "parentSpanId", "flags", "name", "kind", "startTimeUnixNano", "endTimeUnixNano",
          "attributes", "droppedAttributesCount", "events", "droppedEventsCount", "links", "droppedLinksCount", "status"}
VALUES = {"stringValue": str, "boolValue": bool, "intValue": str, "doubleValue": float}


def attributes(items):
    found = {}
    for item in items:
        assert set(item) == {"key", "value"} and isinstance(item["key"], str) and item["key"], item
        (kind, value), = item["value"].items()
        assert type(value) is VALUES[kind], item
        if kind == "intValue":
            assert re.fullmatch(r"-?[0-9]+", value) and -2**63 <= int(value) < 2**63, item
            value = int(value)
        assert item["key"] not in found, "an attribute is there twice: " + item["key"]
        found[item["key"]] = value
    return found


def check(trace):
    assert set(trace) == {"resourceSpans"} and len(trace["resourceSpans"]) == 1, trace.keys()
    resource = trace["resourceSpans"][0]
    assert set(resource) <= {"resource", "scopeSpans", "schemaUrl"}, resource.keys()
    assert attributes(resource["resource"]["attributes"])["service.name"], resource["resource"]
    spans = {}
    for scope in resource["scopeSpans"]:
        assert set(scope) <= {"scope", "spans", "schemaUrl"} and scope["scope"]["name"], scope.keys()
        for span in scope["spans"]:
            assert set(span) <= FIELDS, span.keys() - FIELDS
            assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and int(span["traceId"], 16), span
            assert re.fullmatch("[0-9a-f]{16}", span["spanId"]) and int(span["spanId"], 16), span
            assert span["spanId"] not in spans, "a span is there twice: " + span["name"]
            assert span["name"] and span["kind"] in range(6), span
            for key in ("startTimeUnixNano", "endTimeUnixNano"):
                assert isinstance(span[key], str) and re.fullmatch("[0-9]+", span[key]) and int(span[key]) < 2**64, span
            assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) > 0, span
            assert set(span["status"]) <= {"code", "message"} and span["status"].get("code", 0) in (0, 1, 2), span["status"]
            spans[span["spanId"]] = {**span, "at": attributes(span["attributes"])}
    assert len({span["traceId"] for span in spans.values()}) == 1
    assert [span for span in spans.values() if "parentSpanId" not in span].__len__() == 1, "one root"
    for span in spans.values():
        if "parentSpanId" in span:
            parent = spans[span["parentSpanId"]]
            # A millisecond: times come from tables of milliseconds with a fraction.
            assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) + 10**6, (parent, span)
            assert int(span["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"]) + 10**6, (parent, span)
    return spans


def children(spans, parent):
    return [span for span in spans.values() if span.get("parentSpanId") == parent["spanId"]]


def root(spans):
    return next(span for span in spans.values() if "parentSpanId" not in span)


def read(path):
    return json.load(open(path))
