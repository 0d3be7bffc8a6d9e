"""MMDetection: coco/bbox_mAP at the end."""
LOG = """
2026-03-02 10:30:00,121 - mmdet - INFO - Epoch [11][50/58]\tlr: 2.500e-04, eta: 0:01:12, time: 0.311, data_time: 0.012, memory: 3871, loss_rpn_cls: 0.0211, loss_rpn_bbox: 0.0512, loss_cls: 0.2107, acc: 93.1250, loss_bbox: 0.2412, loss: 0.5242
2026-03-02 10:31:10,771 - mmdet - INFO - Epoch [12][50/58]\tlr: 2.500e-05, eta: 0:00:02, time: 0.309, data_time: 0.011, memory: 3871, loss_rpn_cls: 0.0182, loss_rpn_bbox: 0.0487, loss_cls: 0.1920, acc: 93.8672, loss_bbox: 0.2301, loss: 0.4890
2026-03-02 10:31:40,001 - mmdet - INFO - Epoch(val) [12][32]\tbbox_mAP: 0.3740, bbox_mAP_50: 0.5810, bbox_mAP_75: 0.4040, bbox_mAP_s: 0.2120, bbox_mAP_copypaste: 0.374 0.581 0.404 0.212 0.410 0.481
"""
want("loss train_loss", 0.4890)
want("bbox_map map val_bbox_map", 0.3740, headline=True)
may("accuracy train_accuracy", 93.8672)  # of the proposals' classes, in training
may("bbox_map_50 map_50", 0.5810)
may("bbox_map_75", 0.4040)
wrong(0.0182, "one of the parts of the loss")
wrong(0.2301, "one of the parts of the loss")
wrong(0.5242, "epoch 11")
