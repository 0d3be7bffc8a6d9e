"""HF Trainer with load_best_model_at_end: the last evaluation is that of the best epoch."""
LOG = """
{'loss': '0.6902', 'grad_norm': '1.91', 'learning_rate': '4e-05', 'epoch': '1'}
{'eval_loss': '0.5511', 'eval_accuracy': '0.7214', 'eval_runtime': '2.01', 'epoch': '1'}
{'loss': '0.4011', 'grad_norm': '2.77', 'learning_rate': '2e-05', 'epoch': '2'}
{'eval_loss': '0.4210', 'eval_accuracy': '0.8127', 'eval_runtime': '2.02', 'epoch': '2'}
{'loss': '0.2120', 'grad_norm': '4.10', 'learning_rate': '0', 'epoch': '3'}
{'eval_loss': '0.4877', 'eval_accuracy': '0.8043', 'eval_runtime': '2.00', 'epoch': '3'}
{'train_runtime': '61.2', 'train_loss': '0.4344', 'epoch': '3'}

Loading best model from out/checkpoint-200 (score: 0.8127).
{'eval_loss': '0.4210', 'eval_accuracy': '0.8127', 'eval_runtime': '2.03', 'epoch': '3'}
{'test_loss': '0.4402', 'test_accuracy': '0.8061', 'test_runtime': '4.11'}
"""
want("loss train_loss", [0.4344, 0.2120])
want("val_loss eval_loss", 0.4210)
want("val_accuracy", 0.8127)
want("test_loss", 0.4402)
want("test_accuracy", 0.8061)
may("accuracy", [0.8061, 0.8127])
wrong(0.4877, "last epoch; the model that was kept was evaluated later")
