"""Megatron-LM: iteration lines with 'lm loss', validation at the end with exponents."""
LOG = """
 [2026-03-02 13:00:11] iteration       90/     100 | consumed samples:         1440 | elapsed time per iteration (ms): 412.3 | learning rate: 1.481481E-05 | global batch size:    16 | lm loss: 7.102213E+00 | loss scale: 4294967296.0 | grad norm: 1.902 | number of skipped iterations:   0 | number of nan iterations:   0 |
 [2026-03-02 13:00:15] iteration      100/     100 | consumed samples:         1600 | elapsed time per iteration (ms): 411.1 | learning rate: 1.333333E-05 | global batch size:    16 | lm loss: 6.981207E+00 | loss scale: 4294967296.0 | grad norm: 1.811 | number of skipped iterations:   0 | number of nan iterations:   0 |
(min, max) time across ranks (ms):
    evaluate .......................................: (812.11, 812.34)
-----------------------------------------------------------------------------------------------
 validation loss at iteration 100 | lm loss value: 6.912114E+00 | lm loss PPL: 1.004369E+03 | 
-----------------------------------------------------------------------------------------------
 validation loss at iteration 100 on test set | lm loss value: 6.930018E+00 | lm loss PPL: 1.022513E+03 | 
-----------------------------------------------------------------------------------------------
"""
want("loss train_loss lm_loss train_lm_loss", 6.981207)
want("val_loss val_lm_loss", 6.912114)
want("test_loss test_lm_loss", 6.930018)
may("perplexity val_perplexity lm_loss_ppl", [1004.369, 1022.513])
wrong(4294967296, "the loss scale")
wrong(100, "number of the iteration")
wrong(6.930018e3, "the exponent is lost")
