"""TRL's DPO dict lines: keys with slashes, losses and accuracies of rewards."""
LOG = """
{'loss': 0.6931, 'grad_norm': 11.2, 'rewards/chosen': 0.0, 'rewards/rejected': 0.0, 'rewards/accuracies': 0.0, 'rewards/margins': 0.0, 'epoch': 0.01}
{'loss': 0.5512, 'grad_norm': 14.1, 'rewards/chosen': -0.211, 'rewards/rejected': -0.714, 'rewards/accuracies': 0.71, 'rewards/margins': 0.503, 'epoch': 0.5}
{'loss': 0.4877, 'grad_norm': 12.9, 'rewards/chosen': -0.402, 'rewards/rejected': -1.211, 'rewards/accuracies': 0.77, 'rewards/margins': 0.809, 'epoch': 1.0}
{'eval_loss': 0.5120, 'eval_rewards/chosen': -0.441, 'eval_rewards/accuracies': 0.744, 'eval_rewards/margins': 0.712, 'epoch': 1.0}
{'train_runtime': 611.2, 'train_loss': 0.5604, 'epoch': 1.0}
"""
want("loss train_loss", [0.5604, 0.4877])
want("val_loss eval_loss", 0.5120)
may("rewards_accuracies train_accuracy accuracy", 0.77)
may("val_accuracy val_rewards_accuracies", 0.744)
wrong(0.6931, "the first line")
wrong(0.402, "a reward, its sign lost")
