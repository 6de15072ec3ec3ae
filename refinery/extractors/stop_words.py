"""jusText's lists of stop words, by the name or code of a language, and the density of stop words in a line."""

from __future__ import annotations

from functools import lru_cache

# Codes of languages (ISO 639-1, else 639-3) of jusText's lists, whose names are English.
_NAMES = {
    "af": "Afrikaans", "an": "Aragonese", "ar": "Arabic", "ast": "Asturian", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bn": "Bengali", "bpy": "Bishnupriya_Manipuri", "br": "Breton", "bs": "Bosnian", "ca": "Catalan",
    "ceb": "Cebuano", "cs": "Czech", "cv": "Chuvash", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "fy": "West_Frisian", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "ht": "Haitian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "ig": "Igbo", "io": "Ido",
    "is": "Icelandic", "it": "Italian", "jv": "Javanese", "ka": "Georgian", "kk": "Kazakh", "kn": "Kannada", "ko": "Korean",
    "ku": "Kurdish", "ky": "Kyrgyz", "la": "Latin", "lb": "Luxembourgish", "lmo": "Lombard", "lt": "Lithuanian",
    "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mr": "Marathi", "ms": "Malay", "mt": "Maltese",
    "nap": "Neapolitan", "nb": "Norwegian_Bokmal", "nds": "Low_Saxon", "ne": "Nepali", "new": "Newar", "nl": "Dutch",
    "nn": "Norwegian_Nynorsk", "no": "Norwegian_Bokmal", "oc": "Occitan", "pl": "Polish", "pms": "Piedmontese",
    "pnb": "Western_Panjabi", "pt": "Portuguese", "qu": "Quechua", "ro": "Romanian", "ru": "Russian", "rup": "Aromanian",
    "scn": "Sicilian", "sgs": "Samogitian", "sh": "Serbo_Croatian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian",
    "sr": "Serbian", "su": "Sundanese", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "tk": "Turkmen",
    "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "vo": "Volapuk",
    "wa": "Walloon", "war": "Waray_Waray", "yo": "Yoruba",
}  # fmt: skip
# Longer codes (ISO 639-2 and 639-3) of languages that have a code of two letters.
_LONG = {
    "afr": "af", "arg": "an", "ara": "ar", "arb": "ar", "aze": "az", "azj": "az", "bel": "be", "bul": "bg", "ben": "bn",
    "bre": "br", "bos": "bs", "cat": "ca", "ces": "cs", "chv": "cv", "cym": "cy", "dan": "da", "deu": "de", "ell": "el",
    "eng": "en", "epo": "eo", "spa": "es", "est": "et", "ekk": "et", "eus": "eu", "fas": "fa", "pes": "fa", "fin": "fi",
    "fra": "fr", "fry": "fy", "gle": "ga", "glg": "gl", "guj": "gu", "heb": "he", "hin": "hi", "hrv": "hr", "hat": "ht",
    "hun": "hu", "hye": "hy", "ind": "id", "ibo": "ig", "ido": "io", "isl": "is", "ita": "it", "jav": "jv", "kat": "ka",
    "kaz": "kk", "kan": "kn", "kor": "ko", "kur": "ku", "kmr": "ku", "kir": "ky", "lat": "la", "ltz": "lb", "lit": "lt",
    "lav": "lv", "lvs": "lv", "mkd": "mk", "mal": "ml", "mar": "mr", "msa": "ms", "zsm": "ms", "mlt": "mt", "nob": "nb",
    "nep": "ne", "npi": "ne", "nld": "nl", "nno": "nn", "nor": "no", "oci": "oc", "pol": "pl", "por": "pt", "que": "qu",
    "ron": "ro", "rus": "ru", "slk": "sk", "slv": "sl", "sqi": "sq", "als": "sq", "srp": "sr", "sun": "su", "swe": "sv",
    "swa": "sw", "swh": "sw", "tam": "ta", "tel": "te", "tuk": "tk", "tgl": "tl", "fil": "tl", "tur": "tr", "ukr": "uk",
    "urd": "ur", "uzb": "uz", "uzn": "uz", "vie": "vi", "vol": "vo", "wln": "wa", "yor": "yo",
}  # fmt: skip
# Languages that are written without blanks: words, and so the density of stop words, mean nothing there.
_WITHOUT_BLANKS = frozenset(
    {"THAI", "CHINESE", "JAPANESE", "KOREAN", "TH", "ZH", "JA", "KO", "THA", "ZHO", "CMN", "JPN", "KOR"}
)


def list_name(language: str) -> str | None:
    """The name of the list of a language, given by that name or by a code, as `de`, `deu`, `deu_Latn`, `de-AT`; None if none."""
    wanted = language.strip().replace(" ", "_")
    by_name = {name.lower(): name for name in _NAMES.values()} | {"simple_english": "Simple_English"}
    code = wanted.lower().replace("-", "_").split("_")[0]
    return by_name.get(wanted.lower()) or _NAMES.get(_LONG.get(code, code))


def has_blanks(language: str) -> bool:
    """Return whether words of a language stand between blanks, as far as density is concerned."""
    return language.upper().replace("-", "_").split("_")[0] not in _WITHOUT_BLANKS


@lru_cache(maxsize=256)
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language in lower case; none for "" and for a language without a list."""
    import justext

    name = list_name(language) if language else None
    return frozenset(word.lower() for word in justext.get_stoplist(name)) if name else frozenset()


def dense_lines(text: str, language: str, density: float) -> list[str]:
    """The lines that are not blank and have at least this share of stop words among their words.

    All lines that are not blank for a language without blanks.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not has_blanks(language):
        return lines
    known = stop_words(language)
    return [line for line in lines if _density(line, known) >= density]


def _density(line: str, known: frozenset[str]) -> float:
    words = line.split()
    return sum(word in known for word in words) / len(words)
