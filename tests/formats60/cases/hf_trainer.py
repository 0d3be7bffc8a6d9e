"""HF Trainer: dict lines, then the blocks of metrics of run_glue."""
LOG = """
  0%|          | 0/690 [00:00<?, ?it/s]
{'loss': 0.5921, 'grad_norm': 3.211, 'learning_rate': 1.3333e-05, 'epoch': 1.0}
{'eval_loss': 0.4527, 'eval_accuracy': 0.7990, 'eval_f1': 0.8610, 'eval_runtime': 1.2211, 'eval_samples_per_second': 334.1, 'epoch': 1.0}
{'loss': 0.3714, 'grad_norm': 7.014, 'learning_rate': 6.667e-06, 'epoch': 2.0}
{'eval_loss': 0.3881, 'eval_accuracy': 0.8382, 'eval_f1': 0.8858, 'eval_runtime': 1.2190, 'eval_samples_per_second': 334.7, 'epoch': 2.0}
{'loss': 0.2418, 'grad_norm': 5.903, 'learning_rate': 0.0, 'epoch': 3.0}
{'eval_loss': 0.4102, 'eval_accuracy': 0.8456, 'eval_f1': 0.8919, 'eval_runtime': 1.2234, 'eval_samples_per_second': 333.5, 'epoch': 3.0}
{'train_runtime': 88.3, 'train_samples_per_second': 124.6, 'train_steps_per_second': 7.81, 'train_loss': 0.40177, 'epoch': 3.0}
***** train metrics *****
  epoch                    =        3.0
  train_loss               =     0.4018
  train_runtime            = 0:01:28.30
  train_samples            =       3668
  train_samples_per_second =      124.6
***** eval metrics *****
  epoch                   =        3.0
  eval_accuracy           =     0.8456
  eval_combined_score     =     0.8688
  eval_f1                 =     0.8919
  eval_loss               =     0.4102
  eval_runtime            = 0:00:01.22
  eval_samples            =        408
"""
want("loss train_loss", [0.4018, 0.40177, 0.2418])
want("val_loss eval_loss", 0.4102)
want("val_accuracy accuracy", 0.8456)
want("val_f1 f1", 0.8919)
may("combined_score eval_combined_score", 0.8688)
wrong(0.8382, "epoch 2")
wrong(408, "number of samples")
