"""MXNet Module.fit and Gluon: Train-accuracy, Validation-accuracy with an equals sign."""
STREAM = "stderr"
LOG = """
INFO:root:Epoch[0] Batch [0-100]\tSpeed: 41202.11 samples/sec\taccuracy=0.112079
INFO:root:Epoch[0] Train-accuracy=0.341200
INFO:root:Epoch[0] Time cost=1.511
INFO:root:Epoch[0] Validation-accuracy=0.781250
INFO:root:Epoch[1] Batch [0-100]\tSpeed: 44120.31 samples/sec\taccuracy=0.802599
INFO:root:Epoch[1] Batch [500-600]\tSpeed: 43811.02 samples/sec\taccuracy=0.871100
INFO:root:Epoch[1] Train-accuracy=0.836733
INFO:root:Epoch[1] Time cost=1.402
INFO:root:Epoch[1] Validation-accuracy=0.884100
"""
want("train_accuracy accuracy", 0.836733)
want("val_accuracy validation_accuracy", 0.884100)
wrong(0.8711, "some batches of the epoch")
wrong(0.78125, "epoch 0")
wrong(1.402, "seconds")
