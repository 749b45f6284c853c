#!/usr/bin/env bash
# Fetches the jars of one Kafka broker into .kafka/libs, unless they are there.
# Needs Java 17 and Maven. A failed fetch is tried again: repositories are away for a moment now and then.
set -euo pipefail
cd "$(dirname "$0")/../.."
LIBS=.kafka/libs
PARTIAL=.kafka/partial
PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.11.0
TRIES=5

refuse() {
    echo "kafka: $1" >&2
    exit 1
}

java_version() {
    java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

command -v java >/dev/null || refuse "there is no java. Install Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)"
version=$(java_version)
[ "${version:-0}" -ge 17 ] || refuse "java is version ${version:-unknown}; a broker needs Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)"
if compgen -G "$LIBS/kafka_*.jar" >/dev/null; then
    exit 0
fi
command -v mvn >/dev/null || refuse "there is no mvn to fetch the broker with. Install Maven (Debian: apt-get install maven)"

echo "kafka: fetching the broker's jars, once."
for ((try = 1; try <= TRIES; try++)); do
    rm -rf "$PARTIAL"
    if mvn -q -B -f tools/kafka/pom.xml "$PLUGIN:copy-dependencies" \
        -DincludeScope=runtime -DoutputDirectory="$PWD/$PARTIAL"; then
        rm -rf "$LIBS"
        mv "$PARTIAL" "$LIBS"
        exit 0
    fi
    [ "$try" = "$TRIES" ] || { echo "kafka: attempt $try of $TRIES failed; again in $((try * 10)) s" >&2; sleep $((try * 10)); }
done
refuse "the jars could not be fetched from Maven's central repository in $TRIES attempts"
