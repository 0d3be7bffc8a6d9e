"""W&B's end: history sparklines and the summary."""
STREAM = "stderr"
LOG = """
wandb: Tracking run with wandb version 0.18.7
wandb: Run data is saved locally in /tmp/wandb/run-20260302_140501-3j2k1l0m
epoch 0 train_loss 0.9012 val_acc 0.601
epoch 1 train_loss 0.5120 val_acc 0.742
epoch 2 train_loss 0.3307 val_acc 0.779
wandb:                                                                                
wandb: Run history:
wandb:      epoch ▁▅█
wandb: train_loss █▃▁
wandb:    val_acc ▁▇█
wandb: 
wandb: Run summary:
wandb:      epoch 2
wandb: train_loss 0.33071
wandb:    val_acc 0.77913
wandb:   test_acc 0.76520
wandb: 
wandb: 🚀 View run eager-sun-12 at: https://wandb.ai/team/proj/runs/3j2k1l0m
"""
want("train_loss loss", [0.33071, 0.3307])
want("val_accuracy", [0.77913, 0.779])
want("test_accuracy", 0.76520)
may("accuracy", [0.77913, 0.779, 0.7652])
wrong(0.742, "epoch 1")
