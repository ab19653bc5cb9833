# SPDX-License-Identifier: Apache-2.0
"""An object of an S3-compatible store that fencing tokens guard. Needs boto3, and a store with conditional puts."""
import botocore.exceptions

MAX_TOKEN = 2**53 - 1
TRIES = 20  # A try fails only if another access came in between.


class StaleToken(Exception):
    """A newer holder has used the object: nothing was changed. Stop, and do not retry."""


class FencedObject:
    """The first line of the object is the mark, the rest is the data.

    The mark is not in the metadata, since the ETag depends on the content alone. If the mark rose in the metadata, the ETag would
    stay, and the put of a stale holder would still match.
    """

    def __init__(self, s3, bucket: str, key: str):
        self._s3 = s3
        self._place = {"Bucket": bucket, "Key": key}

    def read(self, token: int) -> bytes:
        """The data, empty if there is no object. Begin each turn with the lock by a read: it raises the mark."""
        return self._access(token, None)

    def write(self, token: int, data: bytes) -> None:
        self._access(token, data)

    def _access(self, token, new):
        if not isinstance(token, int) or not 1 <= token <= MAX_TOKEN:
            raise ValueError(f"token must be an integer from 1 to {MAX_TOKEN}, and is {token!r}")
        for _ in range(TRIES):
            mark, data, condition = self._get()
            if token < mark:
                raise StaleToken(f"token {token} is below the mark {mark} of {self._place['Key']}")
            if new is None and token == mark:
                return data
            if self._put(b"%d\n" % token + (data if new is None else new), condition):
                return data
        raise TimeoutError(f"{self._place['Key']} was changed by others {TRIES} times in a row")

    def _get(self):
        try:
            answer = self._s3.get_object(**self._place)
        except self._s3.exceptions.NoSuchKey:
            return 0, b"", {"IfNoneMatch": "*"}
        mark, _, data = answer["Body"].read().partition(b"\n")
        return int(mark), data, {"IfMatch": answer["ETag"]}

    def _put(self, body, condition):
        try:
            self._s3.put_object(**self._place, Body=body, **condition)
            return True
        except botocore.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"):
                return False
            raise
