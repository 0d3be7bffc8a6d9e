"""mIoU, aAcc and mAcc with per-class rows, as MMSegmentation prints them."""
LOG = """
03/02 15:00:00 - mmengine - INFO - Iter(train) [ 400/400]  lr: 9.9e-03  loss: 0.4410  decode.loss_ce: 0.3120  decode.acc_seg: 88.1120  aux.loss_ce: 0.1290
03/02 15:00:20 - mmengine - INFO - per class results:
03/02 15:00:20 - mmengine - INFO - 
+------------+-------+-------+
|   Class    |  IoU  |  Acc  |
+------------+-------+-------+
|    road    | 91.02 | 96.31 |
|  sidewalk  | 52.11 | 66.03 |
|    sky     | 87.44 | 94.12 |
+------------+-------+-------+
03/02 15:00:20 - mmengine - INFO - Iter(val) [40/40]    aAcc: 90.1200  mIoU: 76.8600  mAcc: 85.4900  data_time: 0.0101  time: 0.1311
"""
want("loss train_loss", 0.4410)
want("miou val_miou iou", 76.86, headline=True)
may("accuracy val_accuracy aacc val_aacc", 90.12)
may("macc val_macc", 85.49)
may("train_accuracy decode_acc_seg", 88.112)
wrong(94.12, "one class")
wrong(0.129, "one of the parts of the loss")
