"""A server that records what is posted to it: recording_server.py FOLDER.

FOLDER/port is its port, on 127.0.0.1; FOLDER/requests.jsonl gets a line for each request. It ends by itself after two minutes.
"""
import http.server
import json
import os
import signal
import sys

signal.alarm(120)
folder = sys.argv[1]
os.makedirs(folder)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with open(folder + "/requests.jsonl", "a") as out:
            out.write(json.dumps({"path": self.path, "headers": dict(self.headers), "body": body}) + "\n")
        self.send_response(403 if "refused" in self.path else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(folder + "/port.new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(folder + "/port.new", folder + "/port")
server.serve_forever()
