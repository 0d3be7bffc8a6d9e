"""torchvision's classification reference: metric logger with medians and global averages."""
LOG = """
Not using distributed mode
Epoch: [0]  [  0/196]  eta: 0:11:02  lr: 0.1  img/s: 21.33  loss: 2.4127 (2.4127)  acc1: 9.3750 (9.3750)  acc5: 50.0000 (50.0000)  time: 3.3812  data: 1.8821  max mem: 1842
Epoch: [0]  [190/196]  eta: 0:00:01  lr: 0.1  img/s: 911.04  loss: 1.4407 (1.7231)  acc1: 46.8750 (36.5183)  acc5: 92.1875 (86.1421)  time: 0.1402  data: 0.0003  max mem: 2410
Epoch: [0] Total time: 0:00:33
Test:   [ 0/79]  eta: 0:01:02  loss: 1.2914 (1.2914)  acc1: 52.3438 (52.3438)  acc5: 94.5312 (94.5312)  time: 0.7902  data: 0.7131  max mem: 2410
Test: Total time: 0:00:06
Test:  Acc@1 51.230 Acc@5 93.910
Epoch: [1]  [  0/196]  eta: 0:06:51  lr: 0.01  img/s: 44.10  loss: 1.3107 (1.3107)  acc1: 51.5625 (51.5625)  acc5: 94.5312 (94.5312)  time: 2.1001  data: 1.7010  max mem: 2410
Epoch: [1]  [190/196]  eta: 0:00:01  lr: 0.01  img/s: 905.66  loss: 1.0512 (1.1120)  acc1: 62.5000 (60.2012)  acc5: 96.0938 (95.7711)  time: 0.1413  data: 0.0003  max mem: 2410
Epoch: [1] Total time: 0:00:32
Test:   [ 0/79]  eta: 0:01:01  loss: 0.9713 (0.9713)  acc1: 66.4062 (66.4062)  acc5: 97.6562 (97.6562)  time: 0.7802  data: 0.7001  max mem: 2410
Test: Total time: 0:00:06
Test:  Acc@1 63.870 Acc@5 96.740
Training time 0:01:21
"""
want("test_accuracy accuracy acc1 acc_1 top1 test_acc1", 63.870)
may("loss train_loss", 1.1120)
may("train_accuracy", 60.2012)
may("acc5 acc_5 top5 test_acc5", 96.740)
wrong(1.0512, "median of the last batches; the average is in parentheses")
wrong(66.4062, "first batch of the test")
wrong(0.9713, "first batch of the test")
wrong(62.5, "median of the last batches")
