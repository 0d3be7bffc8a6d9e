"""Ultralytics YOLO: losses in columns, a table of boxes and mAP."""
LOG = """
Ultralytics 8.3.40 Python-3.11.7 torch-2.5.1 CPU
Starting training for 2 epochs...

      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
        1/2      2.31G      1.211      1.702       1.25         13        640: 100%|██████████| 8/8 [00:12<00:00,  1.51s/it]
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 4/4 [00:03<00:00,  1.09it/s]
                   all        128        929      0.641      0.537      0.605      0.446

      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
        2/2      2.42G      1.174      1.489      1.231         22        640: 100%|██████████| 8/8 [00:11<00:00,  1.43s/it]
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 4/4 [00:03<00:00,  1.12it/s]
                   all        128        929      0.677      0.541      0.628      0.464

2 epochs completed in 0.009 hours.
Optimizer stripped from runs/detect/train/weights/best.pt, 6.5MB
Validating runs/detect/train/weights/best.pt...
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 4/4 [00:02<00:00,  1.39it/s]
                   all        128        929      0.678      0.540      0.629      0.465
                person         61        254      0.801      0.668      0.769      0.541
                   car         12         46      0.711      0.217      0.315      0.181
Speed: 0.2ms preprocess, 41.2ms inference, 0.0ms loss, 0.9ms postprocess per image
"""
want("map50_95 map map50_95_b map_50_95", 0.465, headline=True)
want("map50 map_50 map50_b", 0.629, headline=True)
may("precision box_p p", 0.678)
may("recall r", 0.540)
may("box_loss train_box_loss", 1.174)
may("cls_loss train_cls_loss", 1.489)
may("dfl_loss", 1.231)
wrong(0.315, "the class car only")
wrong(0.0, "milliseconds of the loss's computation")
wrong(1, "1.2")
wrong(929, "number of instances")
