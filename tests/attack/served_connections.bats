#!/usr/bin/env bats
# Any user of the machine can connect to the port of `serve`: connections without a valid token do not keep its owner out.
load ../cli/serve

@test "beside 600 half-open connections the owner's page opens within 1 s, and each of them is closed within 5 s" {
    made_up 3
    serve results
    client '
import resource, select
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
first = ask("/api/runs", token=TOKEN[::-1])
assert first.status == 401
begin = time.monotonic()
half = []
for n in range(600):
    link = socket.create_connection((parts.hostname, parts.port), 10)
    link.sendall([b"", b"G", b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"GET / HTTP/1.1\r\nX: "][n % 4])
    half.append(link)
asked = time.monotonic()
for path in ("/", "/run/" + RUN, "/api/runs"):
    assert ask(path, timeout=20).status == 200, path
took = time.monotonic() - asked
assert took < 1, took
stream = Stream("/events")
assert stream.next()[2]["full"]
# A byte now and then does not keep one open: the header as a whole has 5 s. Neither does an answered request.
known = socket.create_connection((parts.hostname, parts.port), 10)
known.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
half.append(known)
owner = connection()
owner.request("GET", with_token("/api/runs"))
assert owner.getresponse().read()
waiting, closed = set(half), 0
while waiting:
    assert time.monotonic() < begin + 20, len(waiting)
    for link in list(waiting):
        try:
            link.sendall(b"a")
        except OSError: # closed: nothing is read from it either
            waiting.discard(link)
    for link in select.select(list(waiting), [], [], 0.2)[0]:
        try:
            if not link.recv(4096):
                waiting.discard(link)
        except OSError:
            waiting.discard(link)
took = time.monotonic() - begin
assert took < 5 + 5, took # from the first to the last, on a busy machine
# A connection with a token, and a stream, stay.
owner.request("GET", with_token("/api/runs"))
assert owner.getresponse().status == 200
assert stream.next() is not None
'
}

@test "connections that come again and again do not keep the owner out" {
    made_up 3
    serve results
    client '
import threading
stop = threading.Event()
def flood():
    kept = []
    while not stop.is_set():
        try:
            kept.append(socket.create_connection((parts.hostname, parts.port), 5))
            kept[-1].sendall(b"GET / HTTP/1.1\r\n")
        except OSError:
            pass
        if len(kept) > 700:
            kept.pop(0).close()
thread = threading.Thread(target=flood)
thread.start()
try:
    time.sleep(0.5) # so many that the first ones are displaced
    took = []
    for n in range(5):
        begin = time.monotonic()
        assert ask("/", timeout=20).status == 200
        took.append(time.monotonic() - begin)
    assert max(took) < 2, took
finally:
    stop.set()
    thread.join()
'
}
