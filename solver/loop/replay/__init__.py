from .engine import Engine
from .easy import Fcfs, Easy, EasySjbf
from .conservative import Conservative, Replan
