"""The price of a model's tokens from a given day on."""

from __future__ import annotations

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

_NOT_NEGATIVE = [MinValueValidator(Decimal(0))]


class ModelPrice(models.Model):
    """The price of a million tokens, in the currency of CHATUI_CURRENCY, until the ``since`` of the model's next price.

    ``model`` is its name at its server. ``cached_price`` is for cached input tokens; NULL: the price of other input.
    """

    model = models.CharField(_("model"), max_length=200, help_text=_("The name of the model in the usage tables."))
    since = models.DateField(_("valid from"))
    input_price = models.DecimalField(_("price per million input tokens"), max_digits=12, decimal_places=4, validators=_NOT_NEGATIVE)
    cached_price = models.DecimalField(
        _("price per million cached input tokens"), max_digits=12, decimal_places=4, null=True, blank=True, validators=_NOT_NEGATIVE
    )
    output_price = models.DecimalField(_("price per million output tokens"), max_digits=12, decimal_places=4, validators=_NOT_NEGATIVE)

    class Meta:
        default_permissions = ()
        verbose_name = _("model price")
        verbose_name_plural = _("model prices")
        constraints = [models.UniqueConstraint(fields=["model", "since"], name="one_price_from_a_day")]

    def __str__(self) -> str:
        return f"{self.model} from {self.since}"
