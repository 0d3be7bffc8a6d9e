"""timm's train script: train and test lines, CSV-like top list, best metric."""
STREAM = "stderr"
LOG = """
Training with a single process on 1 device (cuda).
Model resnet50 created, param count:25557032
Train: 0 [   0/1251 (  0%)]  Loss: 6.94 (6.94)  Time: 3.411s,   75.06/s  (3.411s,   75.06/s)  LR: 1.000e-05  Data: 1.912 (1.912)
Train: 0 [1250/1251 (100%)]  Loss: 5.81 (6.40)  Time: 0.291s,  879.73/s  (0.310s,  825.81/s)  LR: 1.000e-05  Data: 0.010 (0.022)
Test: [   0/48]  Time: 1.902 (1.902)  Loss:   4.8813 ( 4.8813)  Acc@1:  16.0156 ( 16.0156)  Acc@5:  37.1094 ( 37.1094)
Test: [  48/48]  Time: 0.131 (0.292)  Loss:   5.2216 ( 5.0102)  Acc@1:   9.4340 ( 13.6120)  Acc@5:  28.3019 ( 32.0180)
Current checkpoints:
 ('./output/train/20260302/checkpoint-0.pth.tar', 13.612)

Train: 1 [   0/1251 (  0%)]  Loss: 5.74 (5.74)  Time: 2.511s,  101.95/s  (2.511s,  101.95/s)  LR: 2.008e-02  Data: 1.912 (1.912)
Train: 1 [1250/1251 (100%)]  Loss: 4.62 (5.13)  Time: 0.292s,  876.71/s  (0.309s,  828.48/s)  LR: 2.008e-02  Data: 0.010 (0.021)
Test: [   0/48]  Time: 1.887 (1.887)  Loss:   3.4419 ( 3.4419)  Acc@1:  34.7656 ( 34.7656)  Acc@5:  60.5469 ( 60.5469)
Test: [  48/48]  Time: 0.130 (0.290)  Loss:   3.9910 ( 3.7744)  Acc@1:  21.2264 ( 28.7940)  Acc@5:  46.6981 ( 53.4660)
Current checkpoints:
 ('./output/train/20260302/checkpoint-1.pth.tar', 28.794)
 ('./output/train/20260302/checkpoint-0.pth.tar', 13.612)

*** Best metric: 28.794 (epoch 1)
"""
want("test_accuracy val_accuracy accuracy acc1 acc_1 top1 test_acc1 val_acc1", [28.794])
want("test_loss val_loss", 3.7744)
may("loss train_loss", 5.13)
may("acc5 acc_5 top5", 53.466)
may("best_metric metric", 28.794)
wrong(3.991, "last batch of the test; the average is in parentheses")
wrong(21.2264, "last batch of the test; the average is in parentheses")
wrong(4.62, "last batch; the average is in parentheses")
