"""Ultralytics YOLO, classification: top1_acc columns without a name on the line."""
LOG = """
      Epoch    GPU_mem       loss  Instances       Size
        1/2     0.41G      2.104         16        224: 100%|██████████| 32/32 [00:05<00:00,  6.02it/s]
               classes   top1_acc   top5_acc: 100%|██████████| 4/4 [00:00<00:00,  7.41it/s]
                   all      0.412      0.881

      Epoch    GPU_mem       loss  Instances       Size
        2/2     0.41G      1.377         16        224: 100%|██████████| 32/32 [00:05<00:00,  6.11it/s]
               classes   top1_acc   top5_acc: 100%|██████████| 4/4 [00:00<00:00,  7.55it/s]
                   all      0.633      0.954
"""
want("loss train_loss", 1.377)
want("accuracy val_accuracy top1_acc top1", 0.633)
may("top5_acc top5", 0.954)
wrong(0.412, "epoch 1")
wrong(16, "instances")
wrong(0.954, "top-5")
wrong(224, "image size")
