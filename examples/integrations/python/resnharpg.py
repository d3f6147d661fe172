"""resnharpg.h and aggregators.h for Python, by ctypes alone.

    import resnharpg
    rn = resnharpg.load("build/shared")         # what `make shared` made
    desc = rn.agg_make_desc(rn.AGG_MDA, 10, 386, 3)

Nothing is declared here: `make shared` leaves the API beside the library as the preprocessor sees
it (resnharpg.i), and load() makes ctypes of that: every struct, enumerator and function, under its
own name. So the headers' documentation is that of Python too.

A callback is a Python function in the type of its field, rn.callback(rn.rn_env, "reset", function).
Keep a reference to it for as long as C may call it. An exception in it, Ctrl-C too, cannot pass
through C: it is kept, callbacks return -1 from then on, which is no answer to rn_env.step, and
rn.raise_kept(), after the call, raises it. rn.type_of() gives the bare type, without that.
"""
import ctypes as c
import os
import re

_BASIC = {"void": None, "char": c.c_char, "int": c.c_int, "float": c.c_float, "double": c.c_double,
          "size_t": c.c_size_t, "uint64_t": c.c_uint64, "uint32_t": c.c_uint32,
          "unsigned char": c.c_ubyte}

_DECLARATION = re.compile(r"""
    typedef\s+enum\s+(?P<enum>\w+)\s*\{(?P<values>[^}]*)\}
  | typedef\s+struct\s+(?P<struct>\w+)\s*\{(?P<fields>[^}]*)\}
  | typedef\s+struct\s+(?P<opaque>\w+)\s+\w+;
  | typedef\s+(?P<result>\w+)\s+(?P<callback>\w+)\((?P<given>[^;]*)\);
  | typedef\s+(?P<of>\w+)\s+(?P<alias>\w+);
  | extern\s+(?P<type>[^;()]*?)(?P<function>\w+)\((?P<args>[^;]*)\);""", re.X)


class Library:
    def __init__(self, library, declarations):
        self._types = dict(_BASIC)
        self._library = library
        self._kept = None
        for found in _DECLARATION.finditer(declarations):
            self._declare(found.groupdict())

    def type_of(self, struct, field):
        return dict(struct._fields_)[field]

    def callback(self, struct, field, function):
        kind = self.type_of(struct, field)
        result = kind._restype_ or (lambda _: None)

        def guarded(*arguments):
            try:
                if self._kept is None:
                    value = function(*arguments)
                    result(value)  # a step that returns None raises here, where it can be kept
                    return value
            except BaseException as raised:
                self._kept = raised
            return -1
        return kind(guarded)

    def raise_kept(self):
        kept, self._kept = self._kept, None
        if kept is not None:
            raise kept

    def _declare(self, d):
        if d["enum"]:
            self._types[d["enum"]] = c.c_int
            for value, name in enumerate(re.findall(r"\w+", d["values"])):
                setattr(self, name, value)
        elif d["struct"]:
            fields = [f for line in d["fields"].split(";") for f in self._fields(line.strip())]
            struct = type(d["struct"], (c.Structure,), {"_fields_": fields})
            self._types[d["struct"]] = struct
            setattr(self, d["struct"], struct)
        elif d["callback"]:
            self._types[d["callback"]] = self._callback(d["result"], d["given"])
        elif d["alias"]:
            self._types[d["alias"]] = self._types[d["of"]]
            setattr(self, d["alias"], self._types[d["of"]])
        elif d["function"]:
            function = getattr(self._library, d["function"])
            function.restype, function.argtypes = self._type(d["type"]), self._types_of(d["args"])
            setattr(self, d["function"], function)

    def _type(self, text):
        """of "const agg_real *const *"; what is not known is only pointed to"""
        base, stars = re.sub(r"\bconst\b|\*", " ", text), text.count("*")
        base = " ".join(base.split())
        kind = self._types.get(base)
        if stars and base == "char":
            return c.c_char_p
        if stars and (kind is None or hasattr(kind, "_flags_")):  # void, opaque, a callback
            kind, stars = kind or c.c_void_p, stars - 1
        for _ in range(stars):
            kind = c.POINTER(kind)
        return kind

    def _types_of(self, arguments):
        return [self._type(re.sub(r"\w+\s*$", "", a)) for a in arguments.split(",")
                if a.strip() != "void"]

    def _callback(self, result, arguments):
        return c.CFUNCTYPE(self._type(result), *self._types_of(arguments))

    def _fields(self, line):
        """"double a, *b, c[4]" has three"""
        if not line:
            return
        pointer = re.match(r"(.*?)\(\*(\w+)\)\((.*)\)$", line, re.S)
        if pointer:
            yield pointer[2], self._callback(pointer[1], pointer[3])
            return
        base, first = re.match(r"((?:const\s+|unsigned\s+)*\w+)(.*)$", line, re.S).groups()
        for declarator in first.split(","):
            stars, name, count = re.match(r"\s*((?:\*|const\b|\s)*)(\w+)(?:\[(.*)\])?",
                                          declarator).groups()
            kind = self._type(base + stars)
            yield name, kind * eval(count, vars(self)) if count else kind  # [4 + 1], [N_COUNT]


def load(folder):
    with open(os.path.join(folder, "resnharpg.i"), encoding="ascii") as file:
        text = file.read()
    text = text[text.index("typedef float agg_real"):]
    text = re.sub(r"__attribute__\(\(mode\(\w+\)\)\)", "", text)
    return Library(c.CDLL(os.path.join(folder, "libresnharpg.so")), text)
