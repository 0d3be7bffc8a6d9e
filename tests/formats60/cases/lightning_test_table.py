"""PyTorch Lightning's test table after the bars."""
LOG = """
Epoch 4: 100%|██████████| 938/938 [00:09<00:00, 98.11it/s, v_num=0, train_loss=0.0712, val_loss=0.0833, val_acc=0.975]
`Trainer.fit` stopped: `max_epochs=5` reached.
Restoring states from the checkpoint path at lightning_logs/version_0/checkpoints/epoch=4-step=4690.ckpt
Testing DataLoader 0: 100%|██████████| 157/157 [00:00<00:00, 221.01it/s]
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
       Test metric             DataLoader 0
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
        test_acc            0.9768000245094299
        test_loss           0.07744610309600830
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
"""
want("loss train_loss", 0.0712)
want("val_loss", 0.0833)
want("val_accuracy", 0.975)
want("test_accuracy", 0.9768000245094299)
want("test_loss", 0.0774461030960083)
may("accuracy", [0.975, 0.9768000245094299])
