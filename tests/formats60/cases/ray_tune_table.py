"""Ray Train's status table: the head is in one line, values in another, wrapped."""
LOG = """
Training finished iteration 3 at 2026-03-02 15:22:01. Total running time: 41s
╭───────────────────────────────╮
│ Training result               │
├───────────────────────────────┤
│ checkpoint_dir_name           │
│ time_this_iter_s      9.01231 │
│ training_iteration          3 │
│ accuracy               0.8512 │
│ loss                  0.51204 │
╰───────────────────────────────╯

Training completed after 3 iterations at 2026-03-02 15:22:03. Total running time: 43s
"""
want("accuracy val_accuracy", 0.8512)
want("loss train_loss", 0.51204)
wrong(3, "the iteration")
wrong(9.01231, "seconds")
