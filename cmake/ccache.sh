#!/bin/sh
# Runs ccache. A precompiled header that lies where a new one goes is what ccache would hash, in place of the headers that it
# was made of, and an old one would come out of the cache: it is removed first.
for argument in "$@"; do
  case "$argument" in
    *.gch) rm -f "$argument" ;;
  esac
done
exec "$@"
