"""A translation's BLEU and a sacreBLEU line with its signature."""
LOG = """
| Epoch: 3 | Train Loss: 2.104 | Train PPL:   8.199
|          |  Val. Loss: 3.512 |  Val. PPL:  33.515
| Epoch: 4 | Train Loss: 1.811 | Train PPL:   6.117
|          |  Val. Loss: 3.401 |  Val. PPL:  29.994
| Test Loss: 3.388 | Test PPL:  29.607 |
BLEU = 31.42 63.1/38.2/25.0/16.7 (BP = 0.981 ratio = 0.981 hyp_len = 12811 ref_len = 13058)
"""
want("train_loss loss", 1.811)
want("val_loss", 3.401)
want("test_loss", 3.388)
want("bleu test_bleu", 31.42, headline=True)
may("perplexity train_perplexity", 6.117)
may("val_perplexity", 29.994)
may("test_perplexity", 29.607)
wrong(3.512, "epoch 3")
