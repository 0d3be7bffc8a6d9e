"""spaCy's train table: columns under a head, SCORE last."""
LOG = """
ℹ Pipeline: ['tok2vec', 'ner']
ℹ Initial learn rate: 0.001
E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE 
---  ------  ------------  --------  ------  ------  ------  ------
  0       0          0.00     48.21    0.00    0.00    0.00    0.00
  3     200        101.32   1702.11   61.22   63.10   59.45    0.61
  7     400         88.02    612.37   73.48   74.91   72.10    0.73
✔ Saved pipeline to output directory
model-last
"""
want("f1 ents_f val_f1", 73.48)
want("score", 0.73, headline=True)
may("loss loss_ner train_loss ner_loss", 612.37)
may("loss_tok2vec", 88.02)
may("ents_p precision", 74.91)
may("ents_r recall", 72.10)
wrong(61.22, "step 200")
wrong(2, "the 2 of tok2vec")
