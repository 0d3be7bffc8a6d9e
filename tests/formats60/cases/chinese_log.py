"""Chinese text, full-width colons, English names."""
LOG = """
第 1 轮 训练损失 loss：0.9120，验证准确率 val_acc：0.6611
第 2 轮 训练损失 loss：0.6127，验证准确率 val_acc：0.7402
训练完成，测试集 accuracy：73.85%
"""
want("loss train_loss", 0.6127)
want("val_accuracy", 0.7402)
want("test_accuracy accuracy", 73.85, percent=True)
may("accuracy", 0.7402)
wrong(0.912, "epoch 1")
wrong(73, "cut at the point")
