#!/bin/sh
# Makes inter.woff2 and icons.svg, the font and the icons of the dashboard, from their published packages.
# Needs npm, and fonttools and brotli for Python (`pip install fonttools brotli`). Run it in this folder after a change
# of icons.txt. The licences of both are in ../public/licenses.txt.
set -eu
here=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent @fontsource-variable/inter@5.3.0 lucide-static@1.62.0 >/dev/null
for archive in *.tgz; do mkdir "${archive%.tgz}" && tar xzf "$archive" -C "${archive%.tgz}"; done

# Latin letters, the weights 400 to 600, and the features that the style sheet uses.
fonttools varLib.instancer fontsource-variable-inter-5.3.0/package/files/inter-latin-wght-normal.woff2 wght=400:600 -o inter.ttf
pyftsubset inter.ttf --flavor=woff2 --output-file="$here/inter.woff2" \
    --layout-features=kern,tnum,calt,ccmp,locl,mark,case \
    --unicodes=U+0020-007E,U+00A0-00FF,U+2013,U+2014,U+2018-201A,U+201C-201E,U+2022,U+2026,U+20AC,U+2122,U+2190-2193,U+2212,U+2248,U+2264,U+2265

# One symbol for each icon; size, colour and stroke come from the style sheet.
{
    printf '<svg xmlns="http://www.w3.org/2000/svg" class="icons" aria-hidden="true">'
    while read -r icon; do
        printf '<symbol id="icon-%s" viewBox="0 0 24 24">' "$icon"
        sed -e '1,/^>/d' -e '/^<\/svg>/d' -e 's/^ *//' -e 's/ \/>/\/>/' "lucide-static-1.62.0/package/icons/$icon.svg" | tr -d '\n'
        printf '</symbol>'
    done < "$here/icons.txt"
    printf '</svg>\n'
} > "$here/icons.svg"
