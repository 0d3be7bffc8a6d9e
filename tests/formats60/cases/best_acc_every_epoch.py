"""Every epoch prints the best accuracy so far after the current one."""
LOG = """
[Epoch 1] loss 1.3310 | test acc 55.10% | best acc 55.10%
[Epoch 2] loss 0.9912 | test acc 66.72% | best acc 66.72%
[Epoch 3] loss 0.8240 | test acc 65.93% | best acc 66.72%
"""
want("loss train_loss", 0.8240)
want("test_accuracy accuracy", 65.93, percent=True)
may("best_accuracy best_acc best_test_accuracy", 66.72, percent=True)
wrong(66.72, "the best one, not the last")
wrong(0.6672, "the best one, not the last")
