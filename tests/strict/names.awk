# Which identifiers of a header are macros of other people's headers?
# usage: awk -f names.awk own.macros others.macros header    (-dM -E of what the header includes itself
# and of theirs; the header without comments). A macro with parameters only matters before a "(".
FNR == 1 { file++ }
file < 3 && $1 == "#define" {
    name = $2
    called = sub(/\(.*/, "", name)
    if (file == 1) own[name] = 1
    else if (!(name in own)) theirs[name] = called ? "(" : "any"
}
file == 3 {
    gsub(/"([^"\\]|\\.)*"/, "\"\"")
    while (match($0, /[A-Za-z_][A-Za-z0-9_]*/)) {
        name = substr($0, RSTART, RLENGTH)
        $0 = substr($0, RSTART + RLENGTH)
        if (name in theirs && (theirs[name] == "any" || /^ *\(/)) taken[name]++
    }
}
END {
    for (name in taken) print name ": is a macro there, and used " taken[name] " times here"
    for (name in taken) exit 1
    for (name in theirs) exit 0
    print "no macros to compare with"
    exit 1
}
