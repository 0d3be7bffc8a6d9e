"""Caffe's solver: glog prefixes, test net outputs, a loss with its weight."""
STREAM = "stderr"
LOG = """
I0302 13:40:01.100001  4711 solver.cpp:347] Iteration 0, Testing net (#0)
I0302 13:40:01.411231  4711 solver.cpp:414]     Test net output #0: accuracy = 0.0891
I0302 13:40:01.411260  4711 solver.cpp:414]     Test net output #1: loss = 2.35911 (* 1 = 2.35911 loss)
I0302 13:40:01.500010  4711 solver.cpp:239] Iteration 0 (0 iter/s, 0.311s/100 iters), loss = 2.34102
I0302 13:40:01.500031  4711 solver.cpp:258]     Train net output #0: loss = 2.34102 (* 1 = 2.34102 loss)
I0302 13:41:12.210010  4711 solver.cpp:239] Iteration 9900 (142.1 iter/s, 0.703s/100 iters), loss = 0.00512911
I0302 13:41:12.210031  4711 solver.cpp:258]     Train net output #0: loss = 0.0051291 (* 1 = 0.0051291 loss)
I0302 13:41:12.901112  4711 solver.cpp:327] Iteration 10000, loss = 0.00311204
I0302 13:41:12.901130  4711 solver.cpp:347] Iteration 10000, Testing net (#0)
I0302 13:41:13.211231  4711 solver.cpp:414]     Test net output #0: accuracy = 0.9914
I0302 13:41:13.211260  4711 solver.cpp:414]     Test net output #1: loss = 0.0277812 (* 1 = 0.0277812 loss)
I0302 13:41:13.211271  4711 solver.cpp:332] Optimization Done.
"""
want("loss train_loss", [0.00311204, 0.0277812])  # the last of training, or of the final test
want("accuracy test_accuracy", 0.9914)
may("test_loss", 0.0277812)
wrong(1, "the weight of the loss")
wrong(0.0891, "iteration 0")
wrong(0.00512911, "iteration 9900")
