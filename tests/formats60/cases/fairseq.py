"""fairseq: pipes between name and value."""
STREAM = "stderr"
LOG = """
2026-03-02 11:00:01 | INFO | fairseq_cli.train | task: TranslationTask
2026-03-02 11:04:21 | INFO | train_inner | epoch 001:    100 / 1101 loss=11.732, nll_loss=11.514, ppl=2924.3, wps=21033, ups=5.62, wpb=3742.1, bsz=148.3, num_updates=100, lr=1.25e-05, gnorm=2.81, clip=0, loss_scale=8, train_wall=19, wall=24
2026-03-02 11:08:11 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.214 | nll_loss 7.611 | ppl 195.5 | wps 61201.3 | wpb 2911.1 | bsz 117.1 | num_updates 1101
2026-03-02 11:08:12 | INFO | train | epoch 001 | loss 9.613 | nll_loss 9.211 | ppl 592.61 | wps 20911 | ups 5.61 | wpb 3730.6 | bsz 145.5 | num_updates 1101 | lr 0.000137625 | gnorm 1.902 | train_wall 190 | wall 250
2026-03-02 11:12:11 | INFO | valid | epoch 002 | valid on 'valid' subset | loss 6.911 | nll_loss 5.877 | ppl 58.77 | wps 61011.8 | wpb 2911.1 | bsz 117.1 | num_updates 2202 | best_loss 6.911
2026-03-02 11:12:12 | INFO | train | epoch 002 | loss 7.502 | nll_loss 6.747 | ppl 107.41 | wps 20899 | ups 5.6 | wpb 3730.6 | bsz 145.5 | num_updates 2202 | lr 0.00027525 | gnorm 1.671 | train_wall 190 | wall 491
2026-03-02 11:12:13 | INFO | fairseq_cli.train | done training in 490.1 seconds
"""
want("loss train_loss", 7.502)
want("val_loss valid_loss", 6.911)
may("nll_loss train_nll_loss", 6.747)
may("val_nll_loss", 5.877)
may("perplexity train_ppl", 107.41)
may("val_ppl", 58.77)
may("best_loss val_best_loss best_val_loss", 6.911)
wrong(8.214, "epoch 1")
wrong(8, "the loss scale")
wrong(6.747, "nll_loss, another metric")
wrong(5.877, "nll_loss, another metric")
