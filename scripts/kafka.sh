#!/bin/sh
# Fetches Apache Kafka into the user's cache, once, and prints the folder with its jars. Tests and benches start it from there.
# Needs java and mvn; where one is missing and apt is there, installs the Debian package.
set -eu

version=4.4.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/sluicebox/kafka-$version

say() { echo "kafka.sh: $*" >&2; }

# need COMMAND PACKAGE
need() {
    command -v "$1" >/dev/null 2>&1 && return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        say "$1 is missing and there is no apt here: install it (Debian: $2)"
        exit 1
    fi
    say "installing $2, which brings $1"
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get install -y -q "$2" >&2 || { $sudo apt-get update -q >&2; $sudo apt-get install -y -q "$2" >&2; }
}

need java openjdk-17-jre-headless
need openssl openssl

if [ ! -e "$folder/complete" ]; then
    need mvn maven
    say "fetching Apache Kafka $version (54 MB, once) to $folder"
    mkdir -p "$folder"
    # One fetch at a time: tests may start side by side.
    exec 9>"$folder/lock"
    flock 9
fi
if [ ! -e "$folder/complete" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluicebox</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
POM
    (cd "$work" && mvn -q -B dependency:copy-dependencies "-DoutputDirectory=$folder/jars") >&2
    touch "$folder/complete"
fi
echo "$folder/jars"
