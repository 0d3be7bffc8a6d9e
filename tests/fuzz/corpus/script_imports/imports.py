import a.b, c as d
from . import x
from ..p.m import (
  y, # c
  z)
