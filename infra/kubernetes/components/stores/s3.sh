# Starts SeaweedFS as one S3 server with the buckets `models` and `releases`, and the identities of s3.json.
# Everything but S3 itself knows no credentials, so it listens on 127.0.0.1 alone. The port by which identities are
# changed stands beside S3's: it wants tokens signed with a key that is made here at each start, and written nowhere.
set -eu
umask 077
WEED_JWT_FILER_SIGNING_KEY="$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')"
export WEED_JWT_FILER_SIGNING_KEY
for party in CONTROLLER PROVIDER ATTACKER TRAINER; do
  for part in ID SECRET; do
    name="S3_${party}_${part}"
    set -- "$@" -e "s/@$name@/$(printenv "$name")/"
  done
done
sed "$@" /etc/leakrange/s3.json >/tmp/s3.json
(
  until printf 's3.bucket.create -name models\ns3.bucket.create -name releases\ns3.bucket.list\n' |
    weed shell -master=127.0.0.1:9333 -filer=127.0.0.1:8888 2>/dev/null | grep -q '^ *releases'; do sleep 1; done
  touch /tmp/ready
) &
exec weed server -dir=/data -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.telemetry=false -master.volumeSizeLimitMB=1024 \
  -volume.max=0 -filer -s3 -s3.ip.bind=0.0.0.0 -s3.port=8333 -s3.config=/tmp/s3.json -s3.iam=false \
  -s3.port.iceberg=0 -s3.port.lance=0 -s3.autoCreateBucket=false -s3.allowDeleteBucketNotEmpty=false
