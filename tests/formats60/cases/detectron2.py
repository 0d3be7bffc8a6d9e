"""Detectron2: iteration lines with coloured prefixes, then the table of AP and copypaste lines."""
STREAM = "stderr"
LOG = """
\x1b[32m[03/02 10:12:31 d2.engine.train_loop]: \x1b[0mStarting training from iteration 0
\x1b[32m[03/02 10:12:52 d2.utils.events]: \x1b[0m eta: 0:03:01  iter: 19  total_loss: 1.871  loss_cls: 0.6121  loss_box_reg: 0.5213  loss_mask: 0.6902  loss_rpn_cls: 0.0301  loss_rpn_loc: 0.0172    time: 0.6211  lr: 4.9953e-06  max_mem: 2711M
\x1b[32m[03/02 10:15:58 d2.utils.events]: \x1b[0m eta: 0:00:00  iter: 299  total_loss: 0.3812  loss_cls: 0.0711  loss_box_reg: 0.1904  loss_mask: 0.0921  loss_rpn_cls: 0.0082  loss_rpn_loc: 0.0194    time: 0.6102  lr: 0.00025  max_mem: 2881M
\x1b[32m[03/02 10:15:59 d2.engine.hooks]: \x1b[0mOverall training speed: 298 iterations in 0:03:01 (0.6103 s / it)
\x1b[32m[03/02 10:16:20 d2.evaluation.coco_evaluation]: \x1b[0mEvaluation results for bbox: 
|   AP   |  AP50  |  AP75  |  APs   |  APm   |  APl   |
|:------:|:------:|:------:|:------:|:------:|:------:|
| 68.211 | 84.902 | 79.114 | 21.008 | 55.310 | 81.774 |
\x1b[32m[03/02 10:16:20 d2.evaluation.testing]: \x1b[0mcopypaste: Task: bbox
\x1b[32m[03/02 10:16:20 d2.evaluation.testing]: \x1b[0mcopypaste: AP,AP50,AP75,APs,APm,APl
\x1b[32m[03/02 10:16:20 d2.evaluation.testing]: \x1b[0mcopypaste: 68.2113,84.9021,79.1142,21.0083,55.3101,81.7743
"""
want("loss total_loss train_loss train_total_loss", 0.3812)
want("ap bbox_ap map", [68.211, 68.2113], headline=True)
may("ap50 bbox_ap50", [84.902, 84.9021])
may("ap75", [79.114, 79.1142])
may("loss_cls", 0.0711)
may("loss_mask", 0.0921)
wrong(0.0711, "one of the parts of the loss")
wrong(1.871, "first line")
wrong(0.0194, "one of the parts of the loss")
