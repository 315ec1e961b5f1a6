"""Adapter: signatures in the format of ``ssh-keygen -Y sign`` (SSHSIG), made and verified.

Reading and verifying is done here with ``cryptography``; private keys are never read into this
process. To sign, and to try whether a key signs unprompted, OpenSSH's own programs are run with
argument lists. Nothing here knows who is enrolled.
"""
