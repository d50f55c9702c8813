#!/bin/bash
# Writes docs/generated from the .td files, or says whether it is up to date.
#
#   docs/generate.sh [BUILD]           copy what `ninja galv-docs` makes
#   docs/generate.sh --check [BUILD]   only compare; exit 1 with the difference
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
check=false
if [ "${1-}" = --check ]; then check=true; shift; fi
build=${1:-$root/build}
made=$build/docs

ninja -C "$build" galv-docs >/dev/null
compgen -G "$made/*.md" >/dev/null || { echo "docs/generate.sh: $made holds no pages" >&2; exit 1; }
if $check; then
  mkdir -p "$root/docs/generated"
  if ! diff -ru --exclude='*.d' "$root/docs/generated" "$made"; then
    echo "docs/generated is out of date: run docs/generate.sh" >&2
    exit 1
  fi
else
  rm -rf "$root/docs/generated"
  mkdir -p "$root/docs/generated"
  cp "$made"/*.md "$root/docs/generated"
fi
