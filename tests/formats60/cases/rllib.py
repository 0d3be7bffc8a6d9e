"""RLlib: reward means in result lines."""
LOG = """
Trial status: 1 RUNNING
Result for PPO_CartPole-v1_5c3d1_00000:
  episode_len_mean: 22.19
  episode_reward_mean: 22.19
  episode_reward_max: 71.0
  info:
    learner:
      default_policy:
        learner_stats:
          total_loss: 8.81231
          policy_loss: -0.03411
          vf_loss: 8.84012
  training_iteration: 1

Result for PPO_CartPole-v1_5c3d1_00000:
  episode_len_mean: 148.31
  episode_reward_mean: 148.31
  episode_reward_max: 500.0
  info:
    learner:
      default_policy:
        learner_stats:
          total_loss: 6.10211
          policy_loss: -0.01234
          vf_loss: 6.11007
  training_iteration: 2
"""
want("episode_reward_mean reward reward_mean mean_reward", 148.31, headline=True)
may("loss total_loss train_loss", 6.10211)
may("policy_loss", -0.01234)
may("vf_loss value_loss", 6.11007)
wrong(6.11007, "the value function's part")
wrong(0.01234, "another loss, its sign lost")
wrong(500, "the maximum")
wrong(22.19, "iteration 1")
