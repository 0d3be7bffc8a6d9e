"""A client for the tests of serve: requests with headers of the test's own, and streams of events."""
import http.client
import json
import os
import re
import socket
import time
from urllib.parse import urlsplit

URL, TOKEN, RUN = os.environ["URL"], os.environ.get("TOKEN", ""), os.environ.get("RUN", "")
parts = urlsplit(URL)


def connection(timeout=30):
    if not parts.scheme:
        plain = http.client.HTTPConnection("localhost", timeout=timeout)
        plain.sock = socket.socket(socket.AF_UNIX)
        plain.sock.settimeout(timeout)
        plain.sock.connect(URL)
        return plain
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)

    def text(self):
        return self.body.decode("utf-8")


def with_token(path, token=TOKEN):
    return path + ("&" if "?" in path else "?") + "token=" + token if token else path


def ask(path, method="GET", body=None, timeout=30, token=TOKEN, **headers):
    """Headers by their names, with _ for -. token: "" leaves it out."""
    link = connection(timeout)
    link.request(method, with_token(path, token), body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = Answer(link.getresponse())
    link.close()
    return answer


def status(path, method="GET", **headers):
    return ask(path, method, **headers).status


def report_token(run):
    head = re.search(r'id="head">(.*?)</script>', ask("/run/" + run).text(), re.S)[1]
    return json.loads(head)["report_token"]


class Stream:
    """The events of a path: next() gives (id, kind, data), or None where it has ended."""

    def __init__(self, path, **headers):
        self.link = connection()
        self.link.request("GET", with_token(path), headers=headers)
        self.response = self.link.getresponse()
        self.status, self.headers = self.response.status, self.response.headers

    def next(self):
        event = {"id": None, "event": "message", "data": ""}
        while True:
            line = self.response.readline()
            if not line:
                return None
            line = line.decode("utf-8").rstrip("\n")
            if not line:
                return event["id"], event["event"], json.loads(event["data"])
            name, _, value = line.partition(": ")
            event[name] = value

    def until(self, holds, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = self.next()
            assert got, "the stream ended"
            if got[1] != "beat" and holds(got[2]):
                return got
        raise AssertionError("waited in vain")

    def close(self):
        self.response.close()
        self.link.close()


def cpu_seconds(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
