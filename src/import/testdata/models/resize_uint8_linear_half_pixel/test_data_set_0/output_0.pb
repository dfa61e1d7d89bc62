
J<‰¬rˆ›q†ynx€j]°f[Ámp±€wªŒo­’k¯•zD‘€8¥!Í‰7Ãs|ˆ…U¾k(³`(enS>uh