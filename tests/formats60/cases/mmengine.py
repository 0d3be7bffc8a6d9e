"""MMEngine/MMPretrain: accuracy/top1."""
LOG = """
03/02 10:20:11 - mmengine - INFO - Epoch(train)   [1][100/391]  lr: 1.0000e-01  eta: 0:01:02  time: 0.0812  data_time: 0.0021  memory: 412  loss: 1.7711
03/02 10:20:34 - mmengine - INFO - Saving checkpoint at 1 epochs
03/02 10:20:38 - mmengine - INFO - Epoch(val)   [1][79/79]    accuracy/top1: 51.2300  accuracy/top5: 93.8800  data_time: 0.0041  time: 0.0221
03/02 10:21:11 - mmengine - INFO - Exp name: resnet18_8xb16_cifar10_20260302_101955
03/02 10:21:12 - mmengine - INFO - Epoch(train)   [2][300/391]  lr: 1.0000e-02  eta: 0:00:06  time: 0.0799  data_time: 0.0019  memory: 412  loss: 0.8127
03/02 10:21:33 - mmengine - INFO - Epoch(val)   [2][79/79]    accuracy/top1: 75.2000  accuracy/top5: 98.4100  data_time: 0.0040  time: 0.0220
"""
want("accuracy val_accuracy accuracy_top1 val_accuracy_top1", 75.2)
want("loss train_loss", 0.8127)
may("accuracy_top5 top5", 98.41)
wrong(98.41, "top-5")
wrong(1, "the 1 of top1")
wrong(5, "the 5 of top5")
wrong(51.23, "epoch 1")
