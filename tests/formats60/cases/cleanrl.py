"""CleanRL: episodic returns on lines of their own."""
LOG = """
global_step=812, episodic_return=[14.]
global_step=1024, episodic_return=[31.]
SPS: 2411
global_step=49811, episodic_return=[212.]
SPS: 2502
global_step=50000, episodic_return=[187.]
SPS: 2503
value_loss 12.11 policy_loss -0.0112 entropy 0.51
"""
want("episodic_return return reward", 187.0, headline=True)
may("value_loss", 12.11)
may("policy_loss", -0.0112)
wrong(12.11, "the value's loss, one of two")
wrong(0.0112, "the policy's loss, its sign lost")
