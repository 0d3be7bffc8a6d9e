"""Darknet: batch lines with 'avg loss' and mAP at the end."""
LOG = """
 Region 82 Avg IOU: 0.711023, Class: 0.991012, Obj: 0.611231, No Obj: 0.002311, .5R: 1.000000, .75R: 0.250000,  count: 4
 99: 1.812311, 2.011231 avg loss, 0.000096 rate, 1.801123 seconds, 6336 images, 0.201112 hours left
 Region 82 Avg IOU: 0.733311, Class: 0.994112, Obj: 0.641112, No Obj: 0.002011, .5R: 1.000000, .75R: 0.500000,  count: 4
 100: 1.602210, 1.970329 avg loss, 0.000100 rate, 1.811001 seconds, 6400 images, 0.200011 hours left
Saving weights to backup//yolo_final.weights

 mean average precision (mAP@0.50) = 0.612345, or 61.23 %
"""
want("loss avg_loss train_loss", 1.970329)
want("map map50 map_0_50 map_50 mean_average_precision", [0.612345], headline=True)
wrong(0.0001, "the learning rate, after the name")
wrong(2.011231, "batch 99")
wrong(0.5, "the 0.50 of mAP@0.50")
