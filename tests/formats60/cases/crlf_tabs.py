"""Windows line ends and columns with tabs."""
LOG = """
Epoch\tTrainLoss\tValLoss\tValAcc\r
1\t0.9120\t0.8831\t0.6120\r
2\t0.6411\t0.7010\t0.7033\r
Final:\tval_loss = 0.7010\tval_acc = 0.7033\r
"""
want("val_loss", 0.7010)
want("val_accuracy accuracy", 0.7033)
want("train_loss loss trainloss", 0.6411)
wrong(0.8831, "epoch 1")
