#!/bin/sh
# A small API client: asks for a token, then reads each resource that is named. Needs curl.
# CONTRAIL_URL is contrail's address. The sandbox hands out a client; a replay accepts any.
set -eu
token=$(curl -sS "$CONTRAIL_URL/oauth/token/" \
  -d grant_type=client_credentials \
  -d audience=/api/v2/ \
  -d "client_id=${CONTRAIL_SANDBOX_CLIENT_ID:-sandbox-full}" \
  -d "client_secret=${CONTRAIL_SANDBOX_CLIENT_SECRET:-any}" |
  sed 's/.*"access_token":"\([^"]*\)".*/\1/')
for resource in "$@"; do
  curl -sS -o /dev/null -H "Authorization: Bearer $token" "$CONTRAIL_URL/api/v2/$resource"
done
