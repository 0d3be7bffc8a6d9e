"""A server that records what is posted to it: notify_server.py FOLDER [--fail N] [--hang] [--redirect URL] [--certificate PEM].

FOLDER/port is its port, on 127.0.0.1; FOLDER/requests.jsonl gets a line for each request. It ends by itself after two minutes.
"""
import argparse
import http.server
import json
import os
import signal
import ssl
import time

signal.alarm(120)
options = argparse.ArgumentParser()
options.add_argument("folder")
options.add_argument("--fail", type=int, default=0, help="so many requests get 503")
options.add_argument("--hang", action="store_true", help="no request is answered")
options.add_argument("--redirect")
options.add_argument("--certificate", help="certificate and key: TLS")
options = options.parse_args()
os.makedirs(options.folder)
seen = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global seen
        seen += 1
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with open(options.folder + "/requests.jsonl", "a") as out:
            out.write(json.dumps({"path": self.path, "headers": dict(self.headers), "body": body, "time": time.time()}) + "\n")
        if options.hang:
            time.sleep(120)
        self.send_response(503 if seen <= options.fail else 302 if options.redirect else 200)
        if options.redirect:
            self.send_header("Location", options.redirect)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
if options.certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(options.folder + "/port.new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(options.folder + "/port.new", options.folder + "/port")
server.serve_forever()
