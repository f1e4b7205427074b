"""Dropout: while a model trains, numbers are left out at random, and the others made up for it."""

import torch
from torch import Tensor, nn

#: From so many numbers on, drawing several at a time pays.
_MANY = 16_384


class Dropout(nn.Dropout):
    """Set each number to 0 with probability p, and divide the others by 1 - p, while training.

    It does what torch's does, quicker. On a processor torch draws for one number after the other,
    which takes a fifth of the time that a small model learns. Where there are many numbers, a
    draw of 64 bits is cut in four here, and each quarter decides about one of them; p is then
    rounded to a multiple of 1/65,536.

    Source: Srivastava et al. 2014; Vaswani et al. 2017, section 5.4.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Leave out numbers of `x`; the shape stays."""
        if not (self.training and self.p) or x.device.type != "cpu" or x.numel() < _MANY:
            return super().forward(x)
        left_out = round(self.p * 2**16)  # of 65,536
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        quarters = draws.view(torch.int16)[: x.numel()].view(x.shape)  # -32,768 to 32,767
        kept = (quarters >= left_out - 2**15).to(x.dtype)
        return x * kept.mul_(1 / (1 - left_out / 2**16))
