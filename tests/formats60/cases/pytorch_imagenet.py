"""PyTorch's ImageNet example: meters with a running average in parentheses."""
LOG = """
=> creating model 'resnet18'
Epoch: [0][  1/312]\tTime  2.031 ( 2.031)\tData  1.204 ( 1.204)\tLoss 7.0231e+00 (7.0231e+00)\tAcc@1   0.00 (  0.00)\tAcc@5   0.39 (  0.39)
Epoch: [0][311/312]\tTime  0.101 ( 0.142)\tData  0.001 ( 0.021)\tLoss 4.1022e+00 (5.2011e+00)\tAcc@1  18.75 (  9.13)\tAcc@5  41.02 ( 23.50)
Test: [ 1/40]\tTime  1.414 ( 1.414)\tLoss 3.5114e+00 (3.5114e+00)\tAcc@1  29.30 ( 29.30)\tAcc@5  54.69 ( 54.69)
Test: [40/40]\tTime  0.090 ( 0.211)\tLoss 4.2011e+00 (4.0120e+00)\tAcc@1  12.50 ( 19.35)\tAcc@5  37.50 ( 41.77)
 *   Acc@1 19.350 Acc@5 41.772
Epoch: [1][  1/312]\tTime  1.922 ( 1.922)\tData  1.101 ( 1.101)\tLoss 3.9822e+00 (3.9822e+00)\tAcc@1  19.92 ( 19.92)\tAcc@5  42.19 ( 42.19)
Epoch: [1][311/312]\tTime  0.100 ( 0.139)\tData  0.001 ( 0.019)\tLoss 3.3120e+00 (3.6014e+00)\tAcc@1  31.25 ( 25.61)\tAcc@5  56.25 ( 50.32)
Test: [ 1/40]\tTime  1.398 ( 1.398)\tLoss 2.9110e+00 (2.9110e+00)\tAcc@1  38.28 ( 38.28)\tAcc@5  64.84 ( 64.84)
Test: [40/40]\tTime  0.091 ( 0.209)\tLoss 3.6120e+00 (3.2247e+00)\tAcc@1  18.75 ( 31.42)\tAcc@5  50.00 ( 57.90)
 *   Acc@1 31.424 Acc@5 57.902
"""
want("val_accuracy test_accuracy accuracy acc1 acc_1 top1 test_acc1 val_acc1", 31.424)
may("train_loss loss", 3.6014)
may("val_loss test_loss", 3.2247)
may("train_accuracy", 25.61)
may("acc5 acc_5 top5 val_acc5 test_acc5 top5_accuracy", 57.902)
wrong(3.612, "last batch of the test")
wrong(3.312, "last batch, the average is in parentheses")
wrong(18.75, "last batch of the test")
wrong(57.902, "top-5, not top-1")
wrong(19.35, "epoch 0")
wrong(1, "the 1 of Acc@1")
