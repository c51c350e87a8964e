# Installs Debian packages (the arguments) without starting the services they bring: Weir starts
# servers of its own, in folders of its own, and needs none of the system's.
set -eu
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
made=
trap 'rm -f "$log" $made' EXIT
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    made=$policy
fi
cluster=/etc/postgresql-common/createcluster.conf
if [ ! -e "$cluster" ]; then
    mkdir -p "${cluster%/*}"
    echo 'create_main_cluster = false' >"$cluster"
fi
# A broken third-party source must not stop us: the packages come from the system's own.
apt-get update -qq || echo "apt-get update had problems; trying with what is there"
apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confold "$@" >"$log" 2>&1 || {
    cat "$log"
    exit 1
}
