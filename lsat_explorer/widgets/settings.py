"""What may be set on a view, and how what may not is refused: unknown names, values of the wrong kind."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets
import traitlets
from traitlets import HasTraits, TraitError, TraitType

from lsat_explorer.model.arguments import nearest, told

__all__ = ["NotNone", "OnlyKnown", "SettingError", "checked", "refuse_unknown"]

_KINDS: tuple[tuple[Any, str], ...] = (
    (traitlets.Bool, "True or False"),
    (traitlets.Int, "a whole number"),
    (traitlets.Float, "a number"),
    (traitlets.Unicode, "text"),
)
_OF_EVERY_WIDGET = set(ipywidgets.VBox.class_trait_names()) - {"layout", "tooltip", "tabbable"}


class SettingError(TraitError, ValueError):
    """A value that a view cannot take: a ValueError for the user, rolled back by the widget if a page sent it."""


def checked(value: Callable[[], Any]) -> Any:
    """Return what a function gives; what it refuses is refused as a setting, so that a trait keeps its value."""
    try:
        return value()
    except ValueError as error:
        raise SettingError(str(error)) from error


class NotNone(traitlets.Any):
    """Any value that the view's own validator takes. `traitlets.Any` lets None pass without asking it."""

    allow_none = False


class OnlyKnown:
    """Mixin of a view that has no attributes but those it declares: a misspelt one would have no effect and no message.

    What a class or one of its bases has is declared: traits, properties, other attributes of the class, and names with
    an annotation alone, as in ``note: str``. Names that begin with an underscore are free. A subclass declares its own
    in the same ways. Put the mixin before the widget class.

    What a trait says to a value of another kind is said in words of ours; its ``help`` says what to do.

    Raises
    ------
    TypeError
        Where another attribute is set; the message names the nearest one.
    AttributeError
        Where a property that is there to be read is set.
    SettingError
        Where a trait gets a value of another kind.

    Examples
    --------
    >>> class Dial(OnlyKnown, HasTraits):
    ...     angle = traitlets.Int()
    ...     note: str
    >>> dial = Dial()
    >>> dial.note = "north"
    >>> dial.angel = 3
    Traceback (most recent call last):
    TypeError: Dial has no setting 'angel': did you mean 'angle'?
    """

    def __setattr__(self, name: str, value: Any) -> None:
        cls = type(self)
        if not name.startswith("_") and not hasattr(cls, name) and name not in _annotated(cls):
            raise _unknown(cls, name, _traits(cls) | _annotated(cls) | _settable(cls))
        if isinstance(member := getattr(cls, name, None), property) and member.fset is None:
            kind = cls.__name__
            raise AttributeError(f"{kind}.{name} cannot be replaced: make another {kind}.")
        try:
            super().__setattr__(name, value)
        except SettingError:
            raise
        except TraitError as error:
            words = _misfit(getattr(cls, name, None), self, name, value)
            if not words:  # of another trait, which follows this one
                raise
            raise SettingError(words) from error


def _misfit(trait: Any, view: Any, name: str, value: Any) -> str:
    """Return what a trait has against the kind of a value, empty where it has nothing."""
    validate = getattr(trait, "validate", None)  # not every trait is particular
    if not isinstance(trait, TraitType) or validate is None:
        return ""
    try:
        validate(view, value)
    except TraitError:
        if isinstance(trait, traitlets.Enum):
            return f"{name} is {told(value)}{nearest(value, filter(None, trait.values or ()))}"
        return f"{name} is {told(value)}, expected {_kind(trait)}; {trait.help or 'give one'}"
    return ""


def _kind(trait: Any) -> str:
    if isinstance(trait, traitlets.Instance):
        return f"a {getattr(trait.klass, '__name__', trait.klass)}"
    return next((words for kind, words in _KINDS if isinstance(trait, kind)), str(trait.info()))


def refuse_unknown(cls: type[HasTraits], keywords: Iterable[str]) -> None:
    """Raise for a keyword that a view does not take, naming the nearest one that it does.

    Widgets accept unknown keywords silently, so a misspelt setting would have no effect and no message.

    Parameters
    ----------
    cls : type
        The view. Its settings are its public traits and the named parameters of its ``__init__``.
    keywords : iterable of str
        The keywords that came.

    Raises
    ------
    TypeError
        If one is unknown.
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = {p.name for p in inspect.signature(cls.__init__).parameters.values() if p.kind in named} - {"self"}
    known = _traits(cls) | parameters
    for keyword in keywords:
        if keyword not in known:
            raise _unknown(cls, keyword, known)


def _unknown(cls: type, name: str, known: set[str]) -> TypeError:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    advice = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(known))}."
    return TypeError(f"{cls.__name__} has no setting {name!r}: {advice}")


def _traits(cls: type) -> set[str]:
    names = cls.class_trait_names() if issubclass(cls, HasTraits) else ()
    return {name for name in names if not name.startswith("_")} - _OF_EVERY_WIDGET


def _annotated(cls: type) -> set[str]:
    names = {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
    return {name for name in names if not name.startswith("_")} - _OF_EVERY_WIDGET


def _settable(cls: type) -> set[str]:
    members = {name: member for base in cls.__mro__ for name, member in vars(base).items()}
    return {name for name, member in members.items() if isinstance(member, property) and member.fset is not None}
