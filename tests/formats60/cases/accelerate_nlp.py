"""accelerate's nlp_example: epoch lines with a dict."""
LOG = """
epoch 0: {'accuracy': 0.7083333333333334, 'f1': 0.8172043010752688}
epoch 1: {'accuracy': 0.8161764705882353, 'f1': 0.8704663212435233}
epoch 2: {'accuracy': 0.8480392156862745, 'f1': 0.8927335640138409}
"""
want("accuracy val_accuracy", 0.8480392156862745)
want("f1 val_f1", 0.8927335640138409)
wrong(0.8161764705882353, "epoch 1")
wrong(0.8927, "cut")
