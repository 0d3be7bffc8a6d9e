"""Stable-Baselines3's tables."""
LOG = """
Using cpu device
---------------------------------
| rollout/           |          |
|    ep_len_mean     | 21.6     |
|    ep_rew_mean     | 21.6     |
| time/              |          |
|    fps             | 2310     |
|    iterations      | 1        |
|    total_timesteps | 2048     |
---------------------------------
-----------------------------------------
| rollout/                |             |
|    ep_len_mean          | 63.4        |
|    ep_rew_mean          | 63.4        |
| time/                   |             |
|    iterations           | 4           |
|    total_timesteps      | 8192        |
| train/                  |             |
|    approx_kl            | 0.008104211 |
|    entropy_loss         | -0.611      |
|    explained_variance   | 0.231       |
|    loss                 | 21.3        |
|    policy_gradient_loss | -0.0191     |
|    value_loss           | 55.8        |
-----------------------------------------
mean_reward:201.35 +/- 14.22
"""
want("ep_rew_mean reward rollout_ep_rew_mean mean_reward", [201.35, 63.4], headline=True)
want("loss train_loss", 21.3)
may("value_loss", 55.8)
may("entropy_loss", -0.611)
wrong(55.8, "value_loss")
wrong(-0.0191, "policy_gradient_loss")
wrong(0.611, "entropy_loss, its sign lost")
