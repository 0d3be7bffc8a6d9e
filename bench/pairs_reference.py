"""The schedule of pairs_make.py's models as people make it in Python: the graph of all pairs that are safe on a GPU
of so many bytes, and the heaviest matching of networkx: pairs_reference.py FOLDER GPU_BYTES. Prints the processor
time of reading, weighing and matching, and the hours that the schedule takes."""
import json
import sys
import time

import networkx

folder, gpu = sys.argv[1], float(sys.argv[2])
began = time.process_time()
models = json.load(open(folder + "/study/feasibility.json"))["models"]
alone = [m["seconds"] * m["epochs"] for m in models]
graph = networkx.Graph()
graph.add_nodes_from(range(len(models)))
for i, a in enumerate(models):
    for j in range(i):
        b = models[j]
        need = a["curve"]["peak_bytes"] + b["curve"]["peak_bytes"] + a["margin_bytes"] + b["margin_bytes"]
        slow = max(1, (a["utilisation_percent"] + b["utilisation_percent"]) / 100)
        saved = alone[i] + alone[j] - slow * max(alone[i], alone[j])
        if need <= 0.94 * gpu and saved > 0:
            graph.add_edge(i, j, weight=round(saved * 1000))
weighed = time.process_time()
pairs = networkx.max_weight_matching(graph)
print("matching", time.process_time() - weighed)
print("processor", time.process_time() - began)
print("hours", (sum(alone) - sum(graph[i][j]["weight"] for i, j in pairs) / 1000) / 3600)
print("pairs", len(pairs))
