"""A GAN: two losses, neither of which is the loss."""
LOG = """
[0/2][0/1583]\tLoss_D: 1.7889\tLoss_G: 5.2611\tD(x): 0.5720\tD(G(z)): 0.5841 / 0.0102
[1/2][1550/1583]\tLoss_D: 0.4120\tLoss_G: 3.1127\tD(x): 0.8211\tD(G(z)): 0.1712 / 0.0611
FID: 34.12
"""
want("fid", 34.12, headline=True)
may("loss_d d_loss", 0.4120)
may("loss_g g_loss", 3.1127)
wrong(3.1127, "the generator's loss only")
wrong(0.412, "the discriminator's loss only")
wrong(1.7889, "the first line")
